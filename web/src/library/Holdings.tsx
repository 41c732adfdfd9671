import { useId, useState } from "react";
import { limitTo, removeDocuments } from "../actions";
import { count } from "../parts/words";
import { useSelect } from "../store";
import type { Doc } from "../types";
import { Confirm } from "./Confirm";
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
  const [picked, setPicked] = useState<ReadonlySet<string> | null>(null);
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
      {documents && documents.length > 1 && (
        <Picking documents={documents} picked={picked} pick={setPicked} />
      )}
      {shown === null ? (
        <Loading />
      ) : (
        <Rows
          rows={shown}
          all={rows?.length ?? 0}
          drop={dismiss}
          picked={picked}
          pick={setPicked}
        />
      )}
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

type Picks = (picked: ReadonlySet<string> | null) => void;

interface RowsProps {
  picked: ReadonlySet<string> | null;
  pick: Picks;
  rows: readonly Row[];
  all: number;
  drop: (row: Row) => void;
}

function Rows({ rows, all, drop, picked, pick }: RowsProps) {
  if (all === 0) {
    return <p className="library-empty">Nothing yet. Add a PDF, a text or a table to begin.</p>;
  }
  if (rows.length === 0) return <p className="library-empty">Nothing here goes by that name.</p>;
  return (
    <ul className="rows-of-library">
      {rows.map((row) => (
        <DocumentRow
          key={row.key}
          row={row}
          dismiss={() => drop(row)}
          picked={picked && row.doc ? picked.has(row.doc.id) : null}
          pick={() => row.doc && pick(toggled(picked, row.doc.id))}
        />
      ))}
    </ul>
  );
}

function toggled(picked: ReadonlySet<string> | null, id: string): ReadonlySet<string> {
  const next = new Set(picked);
  if (!next.delete(id)) next.add(id);
  return next;
}

interface PickingProps {
  documents: readonly Doc[];
  picked: ReadonlySet<string> | null;
  pick: Picks;
}

/** Several documents at once: asked alone, or deleted. */
function Picking({ documents, picked, pick }: PickingProps) {
  const [sure, setSure] = useState(false);
  const done = () => {
    setSure(false);
    pick(null);
  };
  if (picked === null) {
    return (
      <button type="button" className="quiet picking" onClick={() => pick(new Set())}>
        Select several
      </button>
    );
  }
  const chosen = documents.filter((doc) => picked.has(doc.id)).map((doc) => doc.id);
  const remove = () => {
    done();
    void removeDocuments(chosen);
  };
  if (sure) {
    return (
      <Confirm yes="Delete" no="Keep" onYes={remove} onNo={() => setSure(false)}>
        {`Delete ${count(chosen.length, "document")} from the library? Your own files stay where they are; uploaded copies go.`}
      </Confirm>
    );
  }
  return (
    <div className="row-actions picking">
      <button
        type="button"
        disabled={chosen.length === 0}
        onClick={() => {
          limitTo(chosen);
          done();
        }}
      >
        Ask only in these
      </button>
      <button type="button" disabled={chosen.length === 0} onClick={() => setSure(true)}>
        Delete
      </button>
      <button type="button" onClick={done}>
        Cancel
      </button>
    </div>
  );
}
