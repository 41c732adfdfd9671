import { useState } from "react";
import { originalUrl } from "../api";
import { useRemembered } from "../parts/useRemembered";
import { pageOf } from "../parts/words";
import type { RunView } from "../run";
import type { SourceTarget } from "../state";
import { useSelect } from "../store";
import { DocumentText } from "./DocumentText";
import { OtherCitations } from "./OtherCitations";
import { PdfPages } from "./PdfPages";
import { SourceHead } from "./SourceHead";
import { TableSource } from "./TableSource";
import { targetKey } from "./targets";
import { WebText } from "./WebText";
import "./source.css";

interface Props {
  source: SourceTarget | null;
  /** Id of a table that is shown in place of a source. */
  table: string | null;
  run: RunView | null;
}

/** A source: the cited words in the text around them, a page of the web, or a table. */
export function Source({ source, table, run }: Props) {
  if (table !== null) return <TableSource key={table} id={table} run={run} />;
  if (source !== null) return <SourceShown key={targetKey(source)} source={source} run={run} />;
  return (
    <p className="panel-empty">
      Choose a number in the answer, and its source opens here with the quoted words marked. A
      document or table of the library can be read here too.
    </p>
  );
}

function SourceShown({ source, run }: { source: SourceTarget; run: RunView | null }) {
  const library = useLibraryOf(source, run);
  return (
    <div className="source">
      <SourceHead number={source.number} title={source.title} opened={source.opened} />
      <SourceBody source={source} run={run} library={library} />
      <OtherCitations source={source} run={run} />
    </div>
  );
}

interface BodyProps {
  source: SourceTarget;
  run: RunView | null;
  library: string;
}

function SourceBody({ source, run, library }: BodyProps) {
  if (source.origin === "web") return <WebText source={source} run={run} />;
  return <DocumentSource source={source} library={library} />;
}

/** A PDF as it looks or as text, everything else as text. */
function DocumentSource({ source, library }: { source: SourceTarget; library: string }) {
  const documents = useSelect((state) => state.documents);
  const doc = documents?.find(({ id }) => id === source.document);
  const [view, choose] = useRemembered<"page" | "text">("pdf as", "page");
  const [why, fall] = useState<string | null>(null);
  const [unmarked, setUnmarked] = useState(false);
  const original = (page: number | null) => (
    <Original source={source} library={library} page={page} />
  );
  const text = (
    <DocumentText source={source} library={library}>
      {original}
    </DocumentText>
  );
  const isPdf = doc?.kind === "pdf";
  if (!isPdf || !doc.has_original) {
    return (
      <>
        {isPdf && <p className="note">Its file is not there to be shown. This is its text.</p>}
        {text}
      </>
    );
  }
  const shown = why === null ? view : "text";
  const show = (next: "page" | "text") => {
    choose(next);
    if (next === "page") setUnmarked(why !== null);
    fall(null);
  };
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: two buttons are no fieldset */}
      <div className="views" role="group" aria-label="How it is shown">
        {(["page", "text"] as const).map((one) => (
          <button
            key={one}
            type="button"
            className="pill"
            aria-pressed={shown === one}
            onClick={() => show(one)}
          >
            {one === "page" ? "Page" : "Text"}
          </button>
        ))}
      </div>
      {why !== null && <p className="note">{`${why} This is its text.`}</p>}
      {shown === "page" ? (
        <PdfPages
          source={unmarked ? { ...source, end: source.start } : source}
          library={library}
          pages={doc.pages ?? 1}
          fall={fall}
        >
          {original}
        </PdfPages>
      ) : (
        text
      )}
    </>
  );
}

/** A run may have been asked of another library than the one that is shown now. */
function useLibraryOf(source: SourceTarget, run: RunView | null): string {
  const shown = useSelect((state) => state.library);
  const documents = useSelect((state) => state.documents);
  const here = documents?.some((doc) => doc.id === source.document);
  return here ? shown : (run?.library ?? shown);
}

function Original({ source, library, page }: OriginalProps) {
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

interface OriginalProps {
  source: SourceTarget;
  library: string;
  page: number | null;
}
