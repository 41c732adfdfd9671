import { expect, test } from "vitest";
import type { Claim } from "../types";
import { blocksOf, draftParts, glued, placeOf } from "./text";

const claim = (
  text: string,
  citations: number[] = [],
  supported: boolean | null = true,
): Claim => ({
  text,
  citations,
  support: null,
  supported,
  computation: null,
});

const shape = (text: string, claims: Claim[]) =>
  blocksOf({ text, claims }).map((block) => [
    block.kind,
    ...block.pieces.map((piece) => (piece.kind === "claim" ? piece.index : piece.text)),
  ]);

test("marks and the note of a weak claim are taken out of the text", () => {
  const claims = [claim("It is 7.8 m.", [1, 2]), claim("It will be 9 m.", [3], false)];
  const text = "It is 7.8 m. [1][2] It will be 9 m. [3] (not supported by the evidence)";
  expect(shape(text, claims)).toEqual([["paragraph", 0, " ", 1]]);
});

test("a remark after the claims, headings and items are told apart", () => {
  const claims = [claim("One."), claim("Two.", [1]), claim("Three.", [2])];
  const text =
    "### Step 1: What?\n\nOne.\n\n- Two. [1]\n- Three. [2]\n\n(1 more sentence was cut.)";
  expect(shape(text, claims)).toEqual([
    ["heading", "Step 1: What?"],
    ["paragraph", 0],
    ["item", 1],
    ["item", 2],
    ["remark", "(1 more sentence was cut.)"],
  ]);
});

test("equal sentences are found one after the other", () => {
  const claims = [claim("Yes.", [1]), claim("Yes.", [2])];
  expect(shape("Yes. [1] Yes. [2]", claims)).toEqual([["paragraph", 0, " ", 1]]);
});

test("a claim that is not in the text is listed after it, never lost", () => {
  const claims = [claim("Here."), claim("Elsewhere.")];
  expect(shape("Here.", claims)).toEqual([
    ["paragraph", 0],
    ["item", 1],
  ]);
});

test("a chip goes between the last word and the sign after it", () => {
  expect(glued("deep at lowest tide.")).toEqual({
    head: "deep at lowest ",
    word: "tide",
    sign: ".",
  });
  expect(glued("he said “never.”")).toEqual({ head: "he said ", word: "“never", sign: ".”" });
  expect(glued("at 7.8 metres")).toEqual({ head: "at 7.8 ", word: "metres", sign: "" });
  expect(glued("Really?!")).toEqual({ head: "", word: "Really", sign: "?!" });
  expect(glued("")).toEqual({ head: "", word: "", sign: "" });
});

test("a number's own point and brackets that belong to the word stay with it", () => {
  expect(glued("it rose to 3.5")).toEqual({ head: "it rose to ", word: "3.5", sign: "" });
  expect(glued("in the annex (part 2)")).toEqual({
    head: "in the annex (part ",
    word: "2)",
    sign: "",
  });
});

test("only the end of a very long word is glued, and no sign is cut in two", () => {
  const address = `see https://example.org/${"a".repeat(60)}.`;
  const parts = glued(address);
  expect([...parts.word]).toHaveLength(16);
  expect(parts.head + parts.word + parts.sign).toBe(address);
  expect(glued(`x${"😀".repeat(20)}`).word).toBe("😀".repeat(16));
});

test("the short answer is found as a whole word only", () => {
  expect(placeOf("5 m", "It is 9.5 m, then 5 m.")).toEqual([18, 21]);
  expect(placeOf("5 m", "15 m")).toBeNull();
  expect(placeOf("a+b (c)", "so a+b (c) it is")).toEqual([3, 10]);
  expect(placeOf("all of it", "all of it")).toBeNull();
  expect(placeOf(null, "x")).toBeNull();
});

test("the marks of a draft are parted from its words as they come", () => {
  expect(draftParts("It is deep [1], and [")).toEqual([
    { text: "It is deep", mark: null },
    { text: "", mark: 1 },
    { text: ", and [", mark: null },
  ]);
});
