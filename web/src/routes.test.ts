import { expect, test } from "vitest";
import { citationRoute, home, parseRoute, runRoute } from "./routes";

test("an address says which run and which citation", () => {
  expect(parseRoute(home)).toEqual({ run: null, citation: null });
  expect(parseRoute("")).toEqual({ run: null, citation: null });
  expect(parseRoute(runRoute("20261115-4fa0"))).toEqual({ run: "20261115-4fa0", citation: null });
  expect(parseRoute(citationRoute("a b/c", 3))).toEqual({ run: "a b/c", citation: 3 });
});

test("an address that means nothing is the beginning", () => {
  for (const hash of ["#/else", "#/runs/", "#/runs/a/b", "#runs/a"])
    expect(parseRoute(hash).run).toBeNull();
  expect(parseRoute("#/runs/%E0%A4%A")).toEqual({ run: "%E0%A4%A", citation: null });
});
