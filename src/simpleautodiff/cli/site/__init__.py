"""The playground: a static site on which the library runs in the browser.

build       write the site: this package, Python and NumPy for browsers, the page
npm         get the two packages for browsers from npm, and check that they are the ones meant
playground  answer the page; it runs in the browser
assets      the page, its style and its scripts, and the examples
"""
