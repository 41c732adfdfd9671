import { Brand } from "../parts/Brand";

/** Left: documents and tables, the drop zone, past questions. */
export function Library() {
  return (
    <nav className="library" aria-label="Library">
      <Brand />
    </nav>
  );
}
