import { useEffect, useRef } from "react";
import { closeSource } from "../actions";
import { originalUrl } from "../api";
import { pageOf } from "../parts/words";
import type { RunView } from "../run";
import type { SourceTarget } from "../state";
import { useSelect } from "../store";
import { DocumentText } from "./DocumentText";
import { OtherCitations } from "./OtherCitations";
import { TableSource } from "./TableSource";
import { isTableTarget, targetKey } from "./targets";
import { WebText } from "./WebText";
import "./source.css";

/** A source: the cited words in the text around them, a page of the web, or a table. */
export function Source({ source, run }: { source: SourceTarget | null; run: RunView | null }) {
  if (source === null) {
    return (
      <p className="panel-empty">
        Choose a number in the answer, and its source opens here with the quoted words marked. A
        document or table of the library can be read here too.
      </p>
    );
  }
  return <SourceShown key={targetKey(source)} source={source} run={run} />;
}

function SourceShown({ source, run }: { source: SourceTarget; run: RunView | null }) {
  const library = useLibraryOf(source, run);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    // A page that was opened at this address leaves the focus where the browser puts it.
    if (document.activeElement !== document.body) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <article className="source">
      <button type="button" className="back quiet" onClick={closeSource}>
        <span aria-hidden="true">← </span>Back
      </button>
      <h2 ref={heading} tabIndex={-1}>
        {source.number !== null && <b className="cited">{source.number}</b>} {source.title}
      </h2>
      <SourceBody source={source} run={run} library={library} />
      <OtherCitations source={source} run={run} />
    </article>
  );
}

interface BodyProps {
  source: SourceTarget;
  run: RunView | null;
  library: string;
}

function SourceBody({ source, run, library }: BodyProps) {
  if (isTableTarget(source)) return <TableSource target={source} run={run} library={library} />;
  if (source.origin === "web") return <WebText source={source} run={run} />;
  return (
    <DocumentText source={source} library={library}>
      {(page) => <Original source={source} library={library} page={page} />}
    </DocumentText>
  );
}

/** A run may have been asked of another library than the one that is shown now. */
function useLibraryOf(source: SourceTarget, run: RunView | null): string {
  const shown = useSelect((state) => state.library);
  const documents = useSelect((state) => state.documents);
  const here = documents?.some((doc) => doc.id === source.document);
  return here ? shown : (run?.library ?? shown);
}

function Original({ source, library, page }: BodyPropsOfOriginal) {
  const documents = useSelect((state) => state.documents);
  const doc = documents?.find(({ id }) => id === source.document);
  if (!doc?.has_original) return null;
  const isPdf = doc.kind === "pdf";
  return (
    <a
      className="link"
      href={originalUrl(library, doc.id, isPdf ? page : null)}
      target="_blank"
      rel="noopener noreferrer"
    >
      {isPdf ? `Open original${page ? ` at ${pageOf(page)}` : ""}` : "Download original"}
    </a>
  );
}

interface BodyPropsOfOriginal {
  source: SourceTarget;
  library: string;
  page: number | null;
}
