import { expect, test } from "vitest";
import { ago, bytes, count, hintSentence, nodeName, seconds, sentence } from "./words";

test("sizes and times are told as a person would", () => {
  expect([bytes(999), bytes(1500), bytes(200_000_000)]).toEqual(["999 bytes", "1.5 kB", "200 MB"]);
  expect([seconds(0.004), seconds(0.83), seconds(42), seconds(125)]).toEqual([
    "4 ms",
    "0.8 s",
    "42 s",
    "2 min 5 s",
  ]);
  expect([count(1, "row"), count(48_000, "row")]).toEqual(["1 row", "48,000 rows"]);
  expect(nodeName("check_grounded")).toBe("Check grounded");
});

test("how long ago is told coarsely", () => {
  const now = new Date(2026, 10, 16, 12, 0);
  const before = (...parts: [number, number, number, number?]) =>
    ago(new Date(...parts).toISOString(), now);
  expect(ago(new Date(2026, 10, 16, 11, 59, 30).toISOString(), now)).toBe("just now");
  expect(before(2026, 10, 16, 9)).toBe("3 hours ago");
  expect(before(2026, 10, 15, 23)).toBe("yesterday");
  expect(before(2026, 10, 13, 12)).toBe("Friday");
  expect(before(2026, 8, 1, 12)).toMatch(/1.*2026/);
  expect(ago("never", now)).toBe("");
});

test("what to do becomes a sentence, unless it is a command", () => {
  expect(hintSentence("ask again later")).toBe("Ask again later.");
  expect(hintSentence("secondlook runs lists them")).toBe("secondlook runs lists them");
});

test("an error becomes a sentence", () => {
  expect(sentence("the question is empty")).toBe("The question is empty.");
  expect(["Really?", ""].map(sentence)).toEqual(["Really?", ""]);
});
