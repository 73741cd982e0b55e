import numpy as np
import pytest
from matplotlib.collections import QuadMesh

from itemwise.displays import DensitiesDisplay
from itemwise.errors import InputError


@pytest.fixture
def some(frames):
    return lambda count: frames["densities"]([f"algorithm {k}" for k in range(count)])


def texts(ax):
    return [text.get_text() for text in ax.texts]


def meshes(ax):
    return [mesh for mesh in ax.collections if isinstance(mesh, QuadMesh)]


def test_each_algorithm_has_a_panel_with_its_name_and_they_share_their_colours(some):
    ax = DensitiesDisplay(some(3).sample(frac=1, random_state=0)).plot().ax_
    assert sorted(texts(ax)) == ["algorithm 0", "algorithm 1", "algorithm 2"]
    assert len({mesh.get_clim() for mesh in meshes(ax)}) == 1
    lefts = [mesh.get_coordinates()[..., 0].min() for mesh in meshes(ax)]
    rights = [mesh.get_coordinates()[..., 0].max() for mesh in meshes(ax)]
    assert all(right < left for right, left in zip(rights, lefts[1:], strict=False))


def test_the_density_stands_at_its_ability_and_performance(some):
    frame = some(1).assign(density=0.0)
    frame.loc[(frame["performance"] == 1.0) & (frame["ability"] == 4.0), "density"] = 1.0
    (mesh,) = meshes(DensitiesDisplay(frame).plot().ax_)
    assert mesh.get_array()[-1, -1] == mesh.get_array().max() > 0
    assert mesh.get_array().sum() == mesh.get_array().max()


def test_further_algorithms_are_counted(some):
    ax = DensitiesDisplay(some(15)).plot().ax_
    assert len(meshes(ax)) == 12
    assert "not shown: 3 more algorithms" in texts(ax)
    assert len(meshes(DensitiesDisplay(some(15), panels=15).plot().ax_)) == 15
    with pytest.raises(InputError, match="panels is 0, but it should be a whole number from 1"):
        DensitiesDisplay(some(1), panels=0)
    with pytest.raises(InputError, match="panels is 'x'"):
        DensitiesDisplay(some(1), panels="x")


def test_a_spike_does_not_bleach_the_rest(some):
    frame = some(2)
    frame.loc[7, "density"] = np.inf
    frame.loc[8, "density"] = 1e9
    mesh = meshes(DensitiesDisplay(frame).plot().ax_)[0]
    assert mesh.get_clim()[1] <= 1.0
    assert mesh.get_array().max() == mesh.get_clim()[1]


def test_another_column_may_be_the_performance(some):
    frame = some(1).rename(columns={"performance": "log-odds"})
    assert DensitiesDisplay(frame, value="log-odds").plot().ax_.get_ylabel() == "log-odds"


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.iloc[1:],
        lambda frame: frame.assign(ability=frame["ability"].where(frame.index > 0)),
        lambda frame: frame[frame["ability"] == frame["ability"].min()],
        lambda frame: frame.iloc[[*range(len(frame)), 0]],
    ],
)
def test_what_is_no_whole_grid_is_refused(some, change):
    with pytest.raises(InputError, match=r"whole grid for each algorithm.*'algorithm 0' has"):
        DensitiesDisplay(change(some(1)))


def test_densities_without_a_number_are_refused(some):
    with pytest.raises(InputError, match="nothing to draw"):
        DensitiesDisplay(some(2).assign(density=np.nan))
