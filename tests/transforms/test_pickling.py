"""Recipes: how a transformed function was made, so that another process can make it again."""

import pytest

import simpleautodiff as ad
from simpleautodiff.transforms.pickling import Recipe, find_recipe, follow_recipe


def cube(x):
    return x * x * x


def test_a_function_that_no_transformation_made_is_its_own_recipe():
    assert find_recipe(cube) is cube
    assert follow_recipe(cube) is cube


def test_a_recipe_names_all_that_is_inside():
    recipe = find_recipe(ad.grad(ad.grad(cube), argnums=0))
    assert isinstance(recipe, Recipe)
    assert isinstance(recipe.args[0], Recipe)
    assert recipe.args[0].args == (cube,)
    assert recipe.kwargs == {"argnums": 0}


@pytest.mark.parametrize("x", [2.0, -0.5])
def test_what_follows_a_recipe_is_the_same_function(x):
    second = follow_recipe(find_recipe(ad.grad(ad.derivative(cube))))
    assert second(x) == 6 * x
    assert follow_recipe(find_recipe(ad.grad(ad.sin)))(0.0) == 1.0
