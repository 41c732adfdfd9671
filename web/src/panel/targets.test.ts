import { describe, expect, it } from "vitest";
import { documentTarget, isTableTarget, tableTarget, targetKey, webAddress } from "./targets";
import { windowOf } from "./windows";

describe("what the source tab shows", () => {
  it("begins a document with pages at the first one, another at its beginning", () => {
    expect(windowOf(documentTarget({ id: "d", title: "T", pages: 3 }))).toEqual({ page: 1 });
    expect(windowOf(documentTarget({ id: "d", title: "T", pages: 0 }))).toEqual({
      start: 0,
      end: 1,
    });
  });

  it("asks for the page of a citation, or for its place where there are no pages", () => {
    expect(windowOf({ page: 7, start: 900, end: 950 })).toEqual({ page: 7 });
    expect(windowOf({ page: null, start: 900, end: 950 })).toEqual({ start: 900, end: 950 });
  });

  it("tells a table from its document", () => {
    const table = tableTarget({ id: "t1", title: "Sales" }, "d");
    expect(isTableTarget(table)).toBe(true);
    expect(targetKey(table)).not.toBe(targetKey(documentTarget({ id: "d", title: "T", pages: 0 })));
  });

  it("makes no link of what is no address of the web", () => {
    expect(webAddress("https://example.org/a")).toBe("https://example.org/a");
    expect(webAddress("javascript:alert(1)")).toBeNull();
    expect(webAddress(null)).toBeNull();
  });
});
