import { dispatch, useSelect } from "../store";
import { Brand } from "./Brand";

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
