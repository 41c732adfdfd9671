/** Right: how the answer was made, or a source of it. */
export function Panel() {
  return <aside className="panel" aria-label="How this answer was made" />;
}
