import { useId, useState } from "react";
import { count } from "../parts/words";
import { useSelect } from "../store";
import type { Doc } from "../types";
import { DocumentRow } from "./DocumentRow";
import { filterRows, isActive, type Row, rowsOf } from "./rows";
import { useTurnedAway } from "./useTurnedAway";

/** From so many rows on there is a box to filter them by. */
const MANY = 12;

/** What the library holds, and what is being added to it. */
export function Holdings() {
  const documents = useSelect((state) => state.documents);
  const jobs = useSelect((state) => state.jobs);
  const { turnedAway, dismiss } = useTurnedAway(jobs);
  const [typed, setTyped] = useState("");
  const heading = useId();
  const active = jobs.filter(isActive);
  const rows = documents ? rowsOf(documents, [...active, ...turnedAway]) : null;
  const shown = rows && filterRows(rows, rows.length > MANY ? typed : "");
  return (
    <section aria-labelledby={heading} aria-busy={rows === null}>
      <h2 id={heading}>
        <span>Library</span>
        <span className="library-count">{documents && countOf(documents)}</span>
      </h2>
      {rows && rows.length > MANY && <Filter typed={typed} type={setTyped} />}
      {shown === null ? <Loading /> : <Rows rows={shown} all={rows?.length ?? 0} drop={dismiss} />}
    </section>
  );
}

function countOf(documents: readonly Doc[]) {
  const ready = documents.filter((doc) => doc.status === "ready").length;
  return (
    <>
      <span aria-hidden="true">{ready.toLocaleString("en")}</span>
      <span className="sr">{count(ready, "document")}</span>
    </>
  );
}

function Filter({ typed, type }: { typed: string; type: (text: string) => void }) {
  return (
    <input
      className="filter"
      type="search"
      aria-label="Filter the library"
      placeholder="Filter"
      value={typed}
      onChange={(event) => type(event.target.value)}
    />
  );
}

function Loading() {
  return (
    <div className="library-loading" aria-hidden="true">
      <i />
      <i />
      <i />
    </div>
  );
}

interface RowsProps {
  rows: readonly Row[];
  all: number;
  drop: (row: Row) => void;
}

function Rows({ rows, all, drop }: RowsProps) {
  if (all === 0) {
    return <p className="library-empty">Nothing yet. Add a PDF, a text or a table to begin.</p>;
  }
  if (rows.length === 0) return <p className="library-empty">Nothing here goes by that name.</p>;
  return (
    <ul className="rows-of-library">
      {rows.map((row) => (
        <DocumentRow key={row.key} row={row} dismiss={() => drop(row)} />
      ))}
    </ul>
  );
}
