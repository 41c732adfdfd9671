/** Where the page is, as its address says: `#/`, `#/runs/ID`, `#/runs/ID/citations/N`. */

export type Route = { run: string | null; citation: number | null };

export function parseRoute(hash: string): Route {
  const found = /^#\/runs\/([^/]+)(?:\/citations\/(\d+))?\/?$/.exec(hash);
  if (!found?.[1]) return { run: null, citation: null };
  return { run: decode(found[1]), citation: found[2] ? Number(found[2]) : null };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const home = "#/";
export const runRoute = (run: string): string => `#/runs/${encodeURIComponent(run)}`;
export const citationRoute = (run: string, number: number): string =>
  `${runRoute(run)}/citations/${number}`;
