import { originalUrl } from "../api";
import { pageOf } from "../parts/words";
import type { RunView } from "../run";
import type { SourceTarget } from "../state";
import { useSelect } from "../store";
import { DocumentText } from "./DocumentText";
import { OtherCitations } from "./OtherCitations";
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
