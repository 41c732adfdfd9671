/** What was pasted or typed into the page's add area. */
export type Pasted =
  | { kind: "nothing" | "text" }
  | { kind: "addresses"; addresses: string[] }
  | { kind: "folder"; folder: string };

const ADDRESS = /^https?:\/\/\S+$/i;
const PATH = /^(~?\/|[a-z]:[\\/])\S/i;
const MOST_ADDRESSES = 20;

export function readPasted(typed: string): Pasted {
  const lines = typed
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const [first] = lines;
  if (first === undefined) return { kind: "nothing" };
  if (lines.length <= MOST_ADDRESSES && lines.every((line) => ADDRESS.test(line))) {
    return { kind: "addresses", addresses: lines };
  }
  if (lines.length === 1 && PATH.test(first)) return { kind: "folder", folder: first };
  return { kind: "text" };
}
