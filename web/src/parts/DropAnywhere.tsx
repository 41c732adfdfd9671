import { useEffect, useState } from "react";
import { addDropped } from "./addFiles";

const holdsFiles = (event: DragEvent): boolean =>
  event.dataTransfer?.types.includes("Files") ?? false;

/** Files may be let go anywhere on the page; otherwise the browser would open them instead. */
export function DropAnywhere() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const drag = (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      if (event.defaultPrevented || !holdsFiles(event)) return;
      event.preventDefault();
      if (event.dataTransfer) void addDropped(event.dataTransfer.items);
    };
    const ends = () => setOver(false);
    window.addEventListener("dragover", drag);
    window.addEventListener("dragleave", leave);
    window.addEventListener("drop", drop);
    window.addEventListener("drop", ends, { capture: true });
    return () => {
      window.removeEventListener("dragover", drag);
      window.removeEventListener("dragleave", leave);
      window.removeEventListener("drop", drop);
      window.removeEventListener("drop", ends, { capture: true });
    };
  }, []);
  return over ? <div className="drop-anywhere">Let go to add the files to your library</div> : null;
}
