/** Numbers and names as a person would say them. */

export function bytes(count: number): string {
  const units = ["bytes", "kB", "MB", "GB"];
  let value = count;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value >= 10 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export function seconds(value: number): string {
  if (value < 0.05) return `${Math.max(1, Math.round(value * 1000))} ms`;
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 90) return `${Math.round(value)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

export const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** `9 in 10`; near the ends `97 in 100`. */
export function tenths(share: number): string {
  const tens = Math.round(share * 10);
  return tens > 0 && tens < 10 ? `${tens} in 10` : `${Math.round(share * 100)} in 100`;
}

export const count = (number: number, one: string, many = `${one}s`): string =>
  `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

export function modelCalls(calls: number): string {
  return calls === 0 ? "no model calls" : count(calls, "model call");
}

/** "page 17", "" where the format has no pages. */
export const pageOf = (page: number | null): string => (page === null ? "" : `page ${page}`);

/** `check_grounded` as people read it: "Check grounded". */
export function nodeName(node: string): string {
  const words = node.replace(/^__|__$/g, "").replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** How long ago, coarsely: "just now", "2 hours ago", "yesterday", else the day. */
export function ago(iso: string, now = new Date()): string {
  const then = new Date(iso);
  const minutes = (now.getTime() - then.getTime()) / 60_000;
  if (Number.isNaN(minutes)) return "";
  if (minutes < 2) return "just now";
  if (minutes < 60) return `${Math.round(minutes)} minutes ago`;
  const midnight = new Date(now);
  midnight.setHours(0, 0, 0, 0);
  const days = Math.ceil((midnight.getTime() - then.getTime()) / 86_400_000);
  if (days <= 0) return `${count(Math.round(minutes / 60), "hour")} ago`;
  if (days === 1) return "yesterday";
  if (days < 7) return then.toLocaleDateString("en", { weekday: "long" });
  return then.toLocaleDateString("en", { day: "numeric", month: "short", year: "numeric" });
}

/** What to do about an error. One that begins with a command is left as it is. */
export const hintSentence = (hint: string): string =>
  /^(secondlook|pip|ollama)\b/.test(hint) ? hint : sentence(hint);

/** Errors are told in lower case, as parts of a line: on the page each is a sentence. */
export function sentence(text: string): string {
  const whole = text.trim();
  const ended = /[.!?…]$/.test(whole) ? whole : `${whole}.`;
  return whole === "" ? "" : ended.charAt(0).toUpperCase() + ended.slice(1);
}
