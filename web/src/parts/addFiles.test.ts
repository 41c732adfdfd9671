import { expect, test } from "vitest";
import { parts } from "./addFiles";

test("files are sent in parts, none too many or too large, all in order", () => {
  const files = [5, 5, 1, 9, 1, 1, 1].map((size) => ({ size }));
  const sizes = parts(files, 3, 10).map((part) => part.map(({ size }) => size));
  expect(sizes).toEqual([
    [5, 5],
    [1, 9],
    [1, 1, 1],
  ]);
  expect(parts([], 3, 10)).toEqual([]);
});
