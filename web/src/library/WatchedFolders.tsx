import { useEffect, useId } from "react";
import { refreshWatched, watchFolder } from "../actions";
import { sentence } from "../parts/words";
import { useSelect } from "../store";

const EVERY = 4000;

/** Folders that the library is kept in step with, and what keeps one waiting. */
export function WatchedFolders() {
  const library = useSelect((state) => state.library);
  const watched = useSelect((state) => state.watched);
  const known = useSelect((state) => state.settings !== null);
  const heading = useId();
  const any = (watched?.folders.length ?? 0) > 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another library has other folders
  useEffect(() => {
    if (known) void refreshWatched();
  }, [library, known]);
  useEffect(() => {
    if (!any) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void refreshWatched();
    }, EVERY);
    return () => clearInterval(timer);
  }, [any]);
  if (!watched || !any) return null;
  return (
    <section aria-labelledby={heading}>
      <h2 id={heading}>Kept in step with</h2>
      <ul className="watched">
        {watched.folders.map(({ folder, waits }) => (
          <li key={folder}>
            <span title={folder}>{folder}</span>
            {watched.allowed && (
              <button
                type="button"
                className="quiet"
                aria-label={`Watch ${folder} no longer`}
                onClick={() => void watchFolder(folder, false)}
              >
                Stop
              </button>
            )}
            {waits && <p className="watch-waits">{sentence(waits)}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}
