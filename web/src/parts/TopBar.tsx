import { dispatch, useSelect } from "../store";
import { Brand } from "./Brand";

/** In the top bar of a phone, and at the head of the library elsewhere. */
export function OpenSettings() {
  const open = useSelect((state) => state.sheet === "settings");
  return (
    <button
      type="button"
      className="quiet open-settings"
      aria-label="Settings"
      title="Settings"
      aria-expanded={open}
      onClick={() => dispatch({ type: "sheet", sheet: "settings" })}
    >
      <svg width="18" height="16" viewBox="0 0 18 16" aria-hidden="true">
        <g fill="var(--panel)" stroke="currentColor" strokeWidth="1.6">
          <path d="M1 4h16M1 12h16" />
          <circle cx="12" cy="4" r="2.4" />
          <circle cx="6" cy="12" r="2.4" />
        </g>
      </svg>
    </button>
  );
}

/** On a narrow window: the way to the library and to how the answer was made. */
export function TopBar() {
  const sheet = useSelect((state) => state.sheet);
  const hasRun = useSelect((state) => state.run !== null);
  const openMade = () => {
    dispatch({ type: "panel", panel: "made" });
    toggle("panel")();
  };
  const toggle = (which: "library" | "panel") => () =>
    dispatch({ type: "sheet", sheet: sheet === which ? null : which });
  return (
    <header className="topbar">
      <Brand />
      <span className="topbar-buttons">
        <button
          type="button"
          className="quiet open-library"
          aria-expanded={sheet === "library"}
          onClick={toggle("library")}
        >
          Library
        </button>
        <OpenSettings />
        {hasRun && (
          <button
            type="button"
            className="quiet open-panel"
            aria-expanded={sheet === "panel"}
            onClick={openMade}
          >
            How it was made
          </button>
        )}
      </span>
    </header>
  );
}
