import { describe, expect, it } from "vitest";
import { documentTarget, targetKey, webAddress } from "./targets";
import { turnBack, turnOn, windowOf } from "./windows";

describe("what the source tab shows", () => {
  it("begins a document with pages at the first one, another at its beginning", () => {
    expect(windowOf(documentTarget({ id: "d", title: "T", pages: 3 }))).toEqual({ page: 1 });
    expect(windowOf(documentTarget({ id: "d", title: "T", pages: 0 }))).toEqual({
      start: 0,
      end: 4000,
    });
  });

  it("asks for a citation by its place, with pages and without", () => {
    expect(windowOf({ page: 7, start: 900, end: 950 })).toEqual({ start: 900, end: 950 });
    expect(windowOf({ page: null, start: 900, end: 950 })).toEqual({ start: 900, end: 950 });
  });

  it("turns by pages where there are any, and by parts where not", () => {
    const part = { document: "d", title: "T", pages: 0, heading: null, text: "", page: null };
    const middle = { ...part, start: 4000, end: 8000, previous_page: null, next_page: null };
    const turned = { ...middle, previous_start: 0, next_start: 8000 };
    expect(turnBack(turned)).toEqual({ label: "Earlier", where: { start: 0, end: 4000 } });
    expect(turnOn(turned)).toEqual({ label: "Later", where: { start: 8000, end: 12000 } });
    expect(turnOn({ ...turned, next_page: 3 })).toEqual({ label: "Next page", where: { page: 3 } });
    expect(turnBack({ ...turned, previous_page: 1 })?.where).toEqual({ page: 1 });
    expect([turnBack(middle), turnOn(middle)]).toEqual([null, null]);
  });

  it("tells two places of one document apart", () => {
    const one = { ...documentTarget({ id: "d", title: "T", pages: 3 }), start: 5, end: 9 };
    expect(targetKey(one)).not.toBe(targetKey({ ...one, start: 6 }));
    expect(targetKey(one)).toBe(targetKey({ ...one }));
  });

  it("makes no link of what is no address of the web", () => {
    expect(webAddress("https://example.org/a")).toBe("https://example.org/a");
    expect(webAddress("javascript:alert(1)")).toBeNull();
    expect(webAddress(null)).toBeNull();
  });
});
