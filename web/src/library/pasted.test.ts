import { expect, test } from "vitest";
import { readPasted } from "./pasted";

test("an address, a folder and a text are told apart", () => {
  expect(readPasted(" \n ")).toEqual({ kind: "nothing" });
  expect(readPasted("https://a.example/x\n HTTP://b.example")).toEqual({
    kind: "addresses",
    addresses: ["https://a.example/x", "HTTP://b.example"],
  });
  expect(readPasted("~/papers")).toEqual({ kind: "folder", folder: "~/papers" });
  expect(readPasted("C:\\papers")).toEqual({ kind: "folder", folder: "C:\\papers" });
  for (const text of ["see https://a.example", "/ or not", "~/one\n~/two", "javascript:alert(1)"]) {
    expect(readPasted(text)).toEqual({ kind: "text" });
  }
});
