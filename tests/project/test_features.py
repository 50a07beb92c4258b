"""The page of features is generated from the tests of features: one row, one test."""

import ast
import pathlib

import features

ROOT = pathlib.Path(__file__).parents[2]


def test_the_page_of_features_is_true():
    assert (ROOT / "docs" / "features.md").read_text(encoding="utf-8") == features.page()


def test_every_feature_has_its_test():
    features.collect()
    assert list(sorted(features.ANSWERS)) == sorted(features.TITLES)
    assert len(set(features.TITLES)) == len(features.TITLES) == 84
    found = [
        function.name
        for path in sorted(features.TESTS.glob("test_*.py"))
        for function in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_")
    ]
    assert sorted(found) == sorted(answer.test for answer in features.ANSWERS.values())
