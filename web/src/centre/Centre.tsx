export function Centre() {
  return <main className="answer" />;
}
