"""The HTML page of a graph in a real browser, without a network."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.graph.arithmetic import add, chain, div_mod, inverse, mul, number, same
from tests.graph.test_html import NASTY, Nested
from tools.graph_page import training_step
from treadle.graph import html_comparison, html_fragment, html_page, name_scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.browser import Browser
    from treadle.graph import Variable

    Show = Callable[[str], Browser]

IDLE = "document.documentElement.dataset.state === 'ready'"


def pane(browser: Browser, name: str, number: int = 0) -> Any:
    """Return what a pane reports about itself, once it is drawn."""
    browser.wait(IDLE)
    return browser.run(f"document.getElementById('pane-{number}').dataset[{name!r}]")


def drawn(browser: Browser, number: int = 0) -> int:
    """Return how many boxes are drawn, counted in the drawing."""
    browser.wait(IDLE)
    count = browser.run(f"document.querySelectorAll('#pane-{number} g.node[data-key]').length")
    assert count == int(pane(browser, "boxes", number))
    return int(count)


def titles(browser: Browser) -> list[str]:
    """Return the first line of the title of each box drawn."""
    browser.wait(IDLE)
    lines: list[str] = browser.run(
        "[...document.querySelectorAll('g.node[data-key]')].map((e) => e.getAttribute('aria-label').split('\\n')[0])"
    )
    return sorted(lines)


def details(browser: Browser) -> str:
    return str(browser.run("document.getElementById('details').innerText"))


def model() -> Variable:
    """Return a graph with name scopes: 2 nodes in `first`, 2 in `second`, one of them in `second/deep`, 1 outside."""
    x = number("x")
    with name_scope("first"):
        a = mul(add(x, 1.0), x)
    with name_scope("second"):
        b = inverse(a)
        with name_scope("deep"):
            c = add(b, a)
    out: Variable = same(c)
    out.name = "result"
    return out


def layered(nodes: int, scoped: bool) -> Variable:
    """Return a graph of many nodes, each on two of the 40 before it."""
    choose = random.Random(5)
    variables: list[Variable] = [number("x")]
    for i in range(nodes):
        operands = choose.choice(variables[-40:]), variables[-1]
        if scoped:
            with name_scope(f"part{i // 200}"):
                variables.append(add(*operands))
        else:
            variables.append(add(*operands))
    return variables[-1]


def test_every_node_of_a_small_graph_is_drawn(show: Show) -> None:
    browser = show(html_page(model()))
    assert titles(browser) == ["input x", "op Inverse", "op Same", "op add", "op add", "op mul", "output result"]
    assert drawn(browser) == 7


def test_boxes_do_not_overlap(show: Show) -> None:
    browser = show(html_page(model()))
    overlapping = browser.run(
        """(() => {
          const boxes = [...document.querySelectorAll('g.node[data-key]')].map((e) => e.getBoundingClientRect());
          return boxes.filter((a, i) => boxes.some((b, j) => i < j
            && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length;
        })()"""
    )
    assert overlapping == 0


def test_groups_hold_their_boxes_and_no_others(show: Show) -> None:
    browser = show(html_page(model()))
    inside = browser.run(
        """[...document.querySelectorAll('g.cluster')].map((group) => {
          const frame = group.querySelector('rect').getBoundingClientRect();
          const within = [...document.querySelectorAll('g.node[data-key]')].filter((e) => {
            const r = e.getBoundingClientRect();
            return r.left >= frame.left && r.right <= frame.right && r.top >= frame.top && r.bottom <= frame.bottom;
          });
          return [group.querySelector('text').firstChild.data.slice(2), within.length];
        })"""
    )
    assert sorted(map(tuple, inside)) == [("deep", 1), ("first", 2), ("second", 2)]


def intertwined() -> Variable:
    """Return a graph with two name scopes that depend on each other."""
    x = out = number("x")
    for _ in range(3):
        with name_scope("a"):
            out = add(mul(out, x), 1.0)
        with name_scope("b"):
            out = inverse(out)
    return out


@pytest.mark.parametrize("graph", [model, intertwined, training_step])
def test_no_wire_passes_under_a_box(show: Show, graph: Callable[[], Any]) -> None:
    browser = show(html_page(graph()))
    crossings = browser.run(
        """(() => {
          const view = treadlePage.views[0];
          const crossings = [];
          for (const wire of view.wires) {
            for (let at = 0; at <= wire.element.getTotalLength(); at += 3) {
              const { x, y } = wire.element.getPointAtLength(at);
              const under = [...view.shapes.values()].filter((shape) => shape !== wire.from && shape !== wire.to
                && Math.abs(shape.x - x) < shape.width / 2 - 2 && Math.abs(shape.y - y) < shape.height / 2 - 2);
              crossings.push(...under.map((shape) => `${wire.from.item.key} ${wire.to.item.key} ${shape.item.key}`));
            }
          }
          return [...new Set(crossings)];
        })()"""
    )
    assert crossings == []


def test_dragging_pans(show: Show) -> None:
    browser = show(html_page(model()))
    x, y, scale = map(float, pane(browser, "view").split())
    browser.drag(60, 800, 120, -40)
    assert [float(part) for part in pane(browser, "view").split()] == [x + 120, y - 40, scale]


def test_wheel_zooms_around_the_pointer(show: Show) -> None:
    browser = show(html_page(model()))
    before = browser.middle("[aria-label^='op mul']")
    scale = float(pane(browser, "view").split()[2])
    browser.mouse("mouseWheel", *before, deltaX=0, deltaY=-200)
    browser.wait(f"Number(document.getElementById('pane-0').dataset.view.split(' ')[2]) > {scale}")
    after = browser.middle("[aria-label^='op mul']")
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 1.5


def test_zoom_buttons_and_fit_change_the_view_and_back(show: Show) -> None:
    browser = show(html_page(model()))
    start = pane(browser, "view")
    browser.click_on("#zoom-in")
    assert float(pane(browser, "view").split()[2]) > float(start.split()[2])
    browser.click_on("#fit")
    assert pane(browser, "view") == start


def test_click_shows_op_types_line_and_scope(show: Show) -> None:
    browser = show(html_page(model()))
    browser.click_on("[aria-label^='op mul']")
    text = details(browser)
    assert "mul" in text
    assert "Binary" in text
    assert "symbol" in text
    assert "Number(1)" in text
    assert "first" in text
    assert "a = mul(add(x, 1.0), x)" in text
    assert "test_graph_page.py:" in text
    assert browser.run("document.querySelectorAll('g.node.select').length") == 1


def test_click_on_an_input_in_the_details_goes_there(show: Show) -> None:
    browser = show(html_page(model()))
    browser.click_on("[aria-label^='op mul']")
    browser.click_on("#details ol .link")
    assert browser.run("document.querySelector('g.node.select').getAttribute('aria-label')").startswith("op add")


def test_profile_is_shown(show: Show) -> None:
    first = same(number("x"))
    second = same(first)
    browser = show(html_page(second, profile={first.owner: 0.25, second.owner: 0.75}))
    times = browser.run("[...document.querySelectorAll('.time-part text')].map((e) => e.textContent)")
    assert sorted(times) == ["250 ms", "750 ms"]
    browser.run("treadlePage.views[0].goTo(2)")
    assert "750 ms, 75.0 % of the time" in details(browser)


def test_search_finds_by_name_op_line_and_scope(show: Show) -> None:
    browser = show(html_page(model()))
    for query, count in (("result", 2), ("inverse", 1), ("def", 0), ("second/deep", 1), ("mul(add", 2), ("input x", 1)):
        browser.run("document.getElementById('query').select()")
        browser.click_on("#query")
        browser.run("document.getElementById('query').value = ''")
        browser.type(query)
        assert (query, int(browser.run("document.getElementById('hits').dataset.total"))) == (query, count)


def test_enter_in_the_search_goes_to_the_hit(show: Show) -> None:
    browser = show(html_page(model()))
    browser.press("/")
    browser.type("inverse")
    browser.press("Enter")
    browser.wait("document.querySelector('g.node.select')")
    assert "Inverse" in details(browser)


def test_search_opens_what_hides_the_hit(show: Show) -> None:
    browser = show(html_page(model()))
    for _ in range(2):
        browser.click_on("#name-scopes-less")
    assert drawn(browser) == 5
    browser.click_on("#query")
    browser.type("second/deep")
    browser.press("Enter")
    browser.wait("document.querySelector('g.node.select')")
    assert drawn(browser) == 6


def test_name_scopes_close_level_by_level_and_open_again(show: Show) -> None:
    browser = show(html_page(model()))
    browser.click_on("#name-scopes-less")
    assert "name scope second/deep, 1 box" in titles(browser)
    browser.click_on("#name-scopes-less")
    assert titles(browser) == [
        "input x",
        "name scope first, 2 boxes",
        "name scope second, 2 boxes",
        "op Same",
        "output result",
    ]
    browser.click_on("#everything")
    assert drawn(browser) == 7


def test_one_name_scope_is_closed_by_its_label_and_opened_by_its_sign(show: Show) -> None:
    browser = show(html_page(model()))
    browser.click_on("[data-path='first'] text")
    assert drawn(browser) == 6
    browser.click_on(".kind-scope .opener text")
    assert drawn(browser) == 7


def test_depth_hides_what_is_far_from_the_outputs(show: Show) -> None:
    browser = show(html_page(chain(number("x"), 20)))
    assert drawn(browser) == 22
    for _ in range(10):
        browser.click_on("#depth-less")
    browser.wait(IDLE)
    assert browser.run("document.getElementById('depth-value').value") == "10"
    # 10 nodes, output, input, and one box for the rest
    assert drawn(browser) == 13
    browser.click_on(".kind-more")
    assert drawn(browser) == 14


def test_what_feeds_a_node_is_hidden_and_shown_again(show: Show) -> None:
    browser = show(html_page(chain(number("x"), 20)))
    browser.run("treadlePage.views[0].goTo(10)")
    browser.wait("document.querySelector('g.node.select')")
    browser.run(
        "[...document.querySelectorAll('.actions button')].find((b) => b.textContent === 'Hide what feeds it').click()"
    )
    assert drawn(browser) == 14
    browser.click_on(".kind-more")
    assert drawn(browser) == 22


def test_constants_become_boxes_when_asked_for(show: Show) -> None:
    browser = show(html_page(add(number("x"), 2.5)))
    assert drawn(browser) == 3
    assert browser.run("document.querySelector('.constant-part text').textContent") == "2.5"
    browser.click_on("#constants")
    assert drawn(browser) == 4
    assert "constant 2.5" in titles(browser)


def test_edge_shows_its_type_under_the_pointer(show: Show) -> None:
    browser = show(html_page(number("x")))
    browser.mouse("mouseMoved", *browser.middle(".edge-paths-hit-test path"))
    browser.wait("!document.getElementById('tip').hidden")
    assert browser.run("document.getElementById('tip').textContent") == "x: Number(1)"


def test_inner_graph_opens_in_place(show: Show) -> None:
    op = Nested(lambda v: add(mul(v, v), 1.0))
    browser = show(html_page(op(op(number("x")))))
    assert drawn(browser) == 4
    browser.click_on(".kind-op .opener text")
    assert drawn(browser) == 7
    assert pane(browser, "groups") == "1"
    browser.click_on(".cluster-label text")
    assert drawn(browser) == 4


def test_inner_graphs_open_inside_each_other(show: Show) -> None:
    outer = Nested(Nested(lambda v: mul(v, v)))
    browser = show(html_page(outer(number("x"))))
    for groups in ("1", "2"):
        browser.click_on(".kind-op .opener text")
        assert pane(browser, "groups") == groups
    assert "op mul" in titles(browser)


def test_arrow_keys_walk_along_the_edges(show: Show) -> None:
    browser = show(html_page(model()))
    browser.click_on("[aria-label^='op Inverse']")
    browser.press("ArrowUp")
    assert browser.run("document.querySelector('g.node.select').getAttribute('aria-label')").startswith("op mul")
    browser.press("ArrowDown")
    browser.press("Escape")
    assert browser.run("document.querySelectorAll('g.node.select').length") == 0


def test_values_flow_to_the_right_when_asked_to(show: Show) -> None:
    browser = show(html_page(model()))
    browser.run(
        "(() => { const e = document.getElementById('direction'); e.value = 'right';"
        "e.dispatchEvent(new Event('change')); })()"
    )
    browser.wait(IDLE)
    x, y = browser.middle("[aria-label^='input x']"), browser.middle("[aria-label^='output result']")
    assert y[0] - x[0] > abs(y[1] - x[1])


def test_hostile_names_are_shown_as_text(show: Show) -> None:
    x = number(NASTY)
    with name_scope("<img src=x onerror=alert(2)>"):
        out = same(x)
    out.name = NASTY
    browser = show(html_page(out, title=NASTY))
    browser.click_on("[aria-label^='op Same']")
    assert NASTY in details(browser)
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("document.title") == NASTY


def test_several_outputs_are_listed(show: Show) -> None:
    quotient, rest = div_mod(number("x"), number("y"))
    browser = show(html_page([quotient, rest]))
    browser.click_on("[aria-label^='op DivMod']")
    assert "OUTPUTS (2)" in details(browser).upper()


def test_page_is_dark_where_the_reader_prefers_it(show: Show) -> None:
    browser = show(html_page(model()))
    colour = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(colour)
    browser.prefer("dark")
    dark = browser.run(colour)
    browser.prefer("light")
    assert sum(map(int, light[4:-1].split(","))) > 600 > 200 > sum(map(int, dark[4:-1].split(",")))


# Size


def test_2000_nodes_start_with_what_can_be_read_and_can_be_drawn_whole(show: Show) -> None:
    browser = show(html_page(layered(2_000, scoped=False)))
    assert 100 < drawn(browser) < 500
    browser.click_on("#everything")
    assert drawn(browser) == 2_002


def test_2000_nodes_in_name_scopes_start_closed(show: Show) -> None:
    browser = show(html_page(layered(2_000, scoped=True)))
    assert drawn(browser) == 12
    browser.click_on(".kind-scope .opener text")
    assert drawn(browser) == 211


def test_chain_of_100000_nodes_is_searched_to_its_far_end(show: Show) -> None:
    middle = chain(number("x"), 60_000)
    middle.name = "halfway"
    browser = show(html_page(chain(middle, 40_000)))
    assert drawn(browser) < 800
    browser.click_on("#query")
    browser.type("halfway")
    browser.press("Enter")
    browser.wait("document.querySelector('g.node.select')")
    assert "halfway" in details(browser)
    assert drawn(browser) < 800


def test_sum_of_20000_inputs_is_drawn_in_part(show: Show) -> None:
    out = [same(number(f"x{i}")) for i in range(20_000)]
    browser = show(html_page(out))
    assert drawn(browser) <= 3_000
    assert "Only" in browser.run("document.querySelector('.notice').textContent")


# Before and after


def test_rule_marks_what_it_touched_on_both_sides(show: Show) -> None:
    x = number("x")
    before, after = same(add(x, x)), same(mul(x, 2.0))
    node, new = before.owner.inputs[0].owner, after.owner.inputs[0].owner
    browser = show(html_comparison(before, after, [("double", node, [new]), ("idle", None, [])]))
    assert (drawn(browser, 0), drawn(browser, 1)) == (4, 4)
    assert browser.run("document.querySelectorAll('.rule').length") == 2
    browser.click_on(".rule")
    assert (pane(browser, "marked", 0), pane(browser, "marked", 1)) == ("1", "1")
    assert browser.run("document.querySelector('#pane-0 g.marked').getAttribute('aria-label')").startswith("op add")
    assert browser.run("document.querySelector('#pane-1 g.marked').getAttribute('aria-label')").startswith("op mul")
    browser.click_on(".rule")
    assert (pane(browser, "marked", 0), pane(browser, "marked", 1)) == ("0", "0")


def test_search_covers_both_sides(show: Show) -> None:
    x = number("x")
    browser = show(html_comparison(add(x, x), mul(x, 2.0)))
    browser.click_on("#query")
    browser.type("input x")
    assert browser.run("document.getElementById('hits').dataset.total") == "2"


# Notebooks


def test_notebook_fragment_draws_itself(show: Show) -> None:
    page = f"<!doctype html><html data-state='ready'><link rel='icon' href='data:,'>{html_fragment(model())}</html>"
    browser = show(page)
    while browser.run_in_frame("document.documentElement.dataset.state") in {"loading", "busy"}:
        time.sleep(0.02)
    assert browser.run_in_frame("document.querySelectorAll('g.node[data-key]').length") == 7


# Compiled functions


def test_function_shows_its_scopes_and_updates(show: Show) -> None:
    step = training_step()
    browser = show(html_page(step))
    assert {"update of bias", "update of weights", "output loss", "shared variable bias"} <= set(titles(browser))
    paths = browser.run("[...document.querySelectorAll('[data-path]')].map((e) => e.dataset.path)")
    assert sorted(paths) == ["gradient", "loss", "loss/likelihood", "loss/penalty", "model", "update"]


def test_rewriting_of_a_function_is_compared(show: Show) -> None:
    step = training_step()
    before, report = step.maker.specification.graph(), step.maker.report
    browser = show(html_comparison(before, step, report))
    rules = browser.run("[...document.querySelectorAll('.rule span')].map((e) => e.textContent)")
    assert rules == list(report.fired())
    marks = []
    for i in range(len(rules)):
        browser.run(f"document.querySelectorAll('.rule')[{i}].click()")
        marks.append(int(pane(browser, "marked", 0)))
    assert max(marks) > 0


def test_function_shows_itself_in_a_notebook() -> None:
    assert training_step().show()._repr_html_().startswith("<iframe ")
