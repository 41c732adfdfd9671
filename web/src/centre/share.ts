/** An answer as one page that opens anywhere, offline: the words, the sources and their quotes. */

import type { Answer, Citation, ResultTable } from "../types";
import { alike, place, verdict } from "./telling";

const STYLE = `
  :root { color-scheme: light dark; }
  body { max-width: 44rem; margin: 3rem auto; padding: 0 1.5rem; font: 1.05rem/1.6 Georgia, serif; }
  h1 { font-weight: 500; line-height: 1.2; }
  h2, footer, table { font: 1rem/1.5 system-ui, sans-serif; }
  h2 { font-weight: 600; margin-top: 2rem; }
  li { margin-bottom: 0.8rem; }
  blockquote { margin: 0.2rem 0 0; padding-left: 0.8rem; border-left: 3px solid #0b6e65; }
  td, th { padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; }
  footer { margin-top: 2rem; opacity: 0.7; }
`;

/** Saves it through the browser. */
export function savePage(answer: Answer): void {
  const url = URL.createObjectURL(new Blob([sharedPage(answer)], { type: "text/html" }));
  const link = Object.assign(document.createElement("a"), {
    href: url,
    download: `answer-${answer.run}.html`,
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Built as a document, so that no word of a source can become markup. */
export function sharedPage(answer: Answer): string {
  const page = document.implementation.createHTMLDocument(answer.question);
  const add = <K extends keyof HTMLElementTagNameMap>(to: Element, kind: K, text = "") => {
    const made = to.appendChild(page.createElement(kind));
    made.textContent = text;
    return made;
  };
  add(page.head, "meta").setAttribute("charset", "utf-8");
  add(page.head, "style", STYLE);
  add(page.body, "h1", answer.question);
  if (answer.asked !== answer.question) add(page.body, "p", `Understood as “${answer.asked}”`);
  for (const part of answer.text.split(/\n\s*\n/)) add(page.body, "p", part);
  if (answer.analysis?.reading) add(page.body, "p", `Read as: ${answer.analysis.reading}.`);
  if (answer.analysis?.table) addTable(answer.analysis.table, page.body, add);
  if (answer.citations.length > 0) addSources(answer.citations, page.body, add);
  const said = answer.claims.length > 0 ? `${verdict(answer)}. ` : "";
  add(page.body, "footer", `${said}Made by Secondlook ${answer.version}, ${answer.created}.`);
  return `<!doctype html>\n${page.documentElement.outerHTML}`;
}

type Add = <K extends keyof HTMLElementTagNameMap>(
  to: Element,
  kind: K,
  text?: string,
) => HTMLElementTagNameMap[K];

function addSources(citations: Citation[], body: Element, add: Add): void {
  add(body, "h2", "Sources");
  const list = add(body, "ol");
  for (const citation of citations) {
    const item = add(list, "li", place(citation));
    item.value = citation.number;
    add(item, "blockquote", citation.quote);
  }
}

function addTable({ columns, rows }: ResultTable, body: Element, add: Add): void {
  const table = add(body, "table");
  const head = add(table, "tr");
  for (const name of columns) add(head, "th", name);
  const written = columns.map((_, at) => {
    const values = rows.map((row) => row[at] ?? null);
    return values.every((value) => typeof value === "number") ? alike(values) : values;
  });
  rows.forEach((_, at) => {
    const line = add(table, "tr");
    for (const column of written) add(line, "td", String(column[at] ?? "–"));
  });
}
