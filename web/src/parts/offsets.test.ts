import { describe, expect, it } from "vitest";
import { characters, markSpan, sliceCharacters, unitAt } from "./offsets";

describe("places in a text, in characters", () => {
  it("counts a character outside of the first plane once", () => {
    expect(characters("a🙂b")).toBe(3);
    expect(unitAt("a🙂b", 2)).toBe(3);
    expect(sliceCharacters("a🙂b", 1, 2)).toBe("🙂");
  });

  it("stops at the end of the text", () => {
    expect(unitAt("ab", 9)).toBe(2);
    expect(sliceCharacters("ab", 1, 9)).toBe("b");
    expect(sliceCharacters("ab", -3, 1)).toBe("a");
  });

  it("counts half of a pair that stands alone, as Python does", () => {
    expect(characters("\ud83dx")).toBe(2);
  });
});

describe("marking a quote", () => {
  it("marks it in a window that begins later in the document", () => {
    const document = "Tide 🌊🌊: the basin is 7.4 m deep.";
    const window = sliceCharacters(document, 4, characters(document));
    const start = [...document].join("").indexOf("7.4 m") - 2; // two pairs before it
    expect(markSpan(window, 4, start, start + 5)).toEqual({
      before: " 🌊🌊: the basin is ",
      marked: "7.4 m",
      after: " deep.",
    });
  });

  it("marks what of it lies on the page, where it began on the page before", () => {
    expect(markSpan("rest of it. Next.", 100, 90, 111).marked).toBe("rest of it.");
  });

  it("marks nothing where the quote lies on another page", () => {
    expect(markSpan("other page", 100, 10, 20)).toEqual({
      before: "",
      marked: "",
      after: "other page",
    });
    expect(markSpan("other page", 100, 300, 320).marked).toBe("");
  });
});
