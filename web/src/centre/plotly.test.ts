import { expect, test } from "vitest";
import { readFigure } from "./plotly";

test("a cell of a table never becomes a link in a chart", () => {
  const cell = '<a href="https://evil.example">South</a>';
  const figure = readFigure({
    data: [{ type: "bar", x: [cell, "<A HREF=x>", "a < b <b>bold</b>"], y: [1, 2, null] }],
    layout: { xaxis: { title: { text: cell } }, showlegend: true },
  });
  const shown = '&lt;a href="https://evil.example">South&lt;/a>';
  expect(figure).toEqual({
    data: [{ type: "bar", x: [shown, "&lt;A HREF=x>", "a < b <b>bold</b>"], y: [1, 2, null] }],
    layout: { xaxis: { title: { text: shown } }, showlegend: true },
  });
});

test("what is no figure is none", () => {
  for (const json of [null, "x", [], {}, { data: "x" }]) expect(readFigure(json)).toBeNull();
});
