import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import * as api from "../api";
import { Problem } from "../api";
import { useRemembered } from "../parts/useRemembered";
import { pageOf, sentence } from "../parts/words";
import type { SourceTarget } from "../state";
import type { Place, Rectangle } from "../types";

interface Props {
  source: SourceTarget;
  library: string;
  /** How many pages the document has. */
  pages: number;
  /** Says why the page cannot be shown, or not with the words marked: the text is shown then. */
  fall: (why: string) => void;
  /** The way to the file itself; it is told which page is shown. */
  children: (page: number) => ReactNode;
}

const LOST = "These words could not be marked on the page as it looks.";
const GONE = "The page cannot be shown: its file has gone or was changed, or is damaged here.";
const WIDTHS = [400, 800, 1200, 1600, 2000];
const FIT = "(max-width: 760px) 92vw, (max-width: 1180px) 384px, max(340px, 32vw - 36px)";

/** A PDF as it looks, a page at a time, with what is cited marked on it. */
export function PdfPages({ source, library, pages, fall, children }: Props) {
  const [page, turnTo] = useState(source.page ?? 1);
  const [size, setSize] = useRemembered<"fit" | "large">("pages", "fit");
  const places = usePlaces(source, library, { turnTo, fall });
  const frame = useRef<HTMLElement>(null);
  useKeys(frame, (key) => {
    const to = { ArrowLeft: page - 1, ArrowRight: page + 1, Home: 1, End: pages }[key];
    if (to === undefined) return false;
    turnTo(Math.min(pages, Math.max(1, to)));
    return true;
  });
  const marked = places.find((place) => place.rectangles.length > 0)?.page ?? page;
  return (
    <section ref={frame} aria-label={`Pages of ${source.title}`}>
      <p className="source-place" aria-live="polite">{`${pageOf(page)} of ${pages}`}</p>
      <div className="page-bar source-links">
        {children(page)}
        <button
          type="button"
          className="pill"
          aria-pressed={size === "large"}
          onClick={() => setSize(size === "large" ? "fit" : "large")}
        >
          Enlarge
        </button>
      </div>
      <Sheet
        key={page}
        address={(width) => api.pageUrl(library, source.document, page, width)}
        size={size}
        alt={`${sentence(pageOf(page)).replace(/\.$/, "")} of “${source.title}” as a picture. Its words are under Text.`}
        rectangles={places.find((place) => place.page === page)?.rectangles ?? []}
        quote={source.quote}
        fail={() => fall(GONE)}
      />
      <div className="turning">
        <button
          type="button"
          className="pill"
          aria-keyshortcuts="ArrowLeft"
          disabled={page <= 1}
          onClick={() => turnTo(page - 1)}
        >
          Previous page
        </button>
        {marked !== page && (
          <button type="button" className="pill" onClick={() => turnTo(marked)}>
            {`To the quote, ${pageOf(marked)}`}
          </button>
        )}
        <button
          type="button"
          className="pill"
          aria-keyshortcuts="ArrowRight"
          disabled={page >= pages}
          onClick={() => turnTo(page + 1)}
        >
          Next page
        </button>
      </div>
    </section>
  );
}

type Told = { turnTo: (page: number) => void; fall: (why: string) => void };

function usePlaces(source: SourceTarget, library: string, { turnTo, fall }: Told): Place[] {
  const [places, setPlaces] = useState<Place[]>([]);
  const { document, start, end, quote } = source;
  // biome-ignore lint/correctness/useExhaustiveDependencies: both are setters, which never change
  useEffect(() => {
    if (end <= start) return;
    const leaving = new AbortController();
    api.places(library, document, { start, end }, leaving.signal).then(
      (found) => {
        const [first] = found.places.filter((place) => place.rectangles.length > 0);
        // Other words at the place: the text says so.
        if (!first || (quote !== null && quote !== found.text)) return fall(LOST);
        setPlaces(found.places);
        turnTo(first.page);
      },
      (error: unknown) => {
        if (error instanceof Problem) fall(sentence(error.message));
      },
    );
    return () => leaving.abort();
  }, [library, document, start, end, quote]);
  return places;
}

/** Keys work wherever the focus is in the panel: on the heading when a source was opened. */
function useKeys(frame: RefObject<HTMLElement | null>, press: (key: string) => boolean): void {
  useEffect(() => {
    const panel = frame.current?.closest<HTMLElement>("[role=tabpanel]");
    const listen = (event: KeyboardEvent) => {
      if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const scrolled = event.target instanceof Element && event.target.closest(".page-frame");
      if (!scrolled && press(event.key)) event.preventDefault();
    };
    panel?.addEventListener("keydown", listen);
    return () => panel?.removeEventListener("keydown", listen);
  }, [frame, press]);
}

interface SheetProps {
  address: (width: number) => string;
  size: "fit" | "large";
  alt: string;
  rectangles: Rectangle[];
  quote: string | null;
  fail: () => void;
}

/** A picture of a page in a frame; enlarged it is scrolled in there. */
function Sheet({ address, size, alt, rectangles, quote, fail }: SheetProps) {
  const [loaded, setLoaded] = useState(false);
  const mark = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolled to when any of them changes
  useEffect(() => {
    mark.current?.querySelector("i")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [loaded, rectangles, size]);
  return (
    <>
      <div className="page-frame" data-size={size} {...(size === "large" ? { tabIndex: 0 } : {})}>
        <div className="page-sheet" aria-busy={!loaded}>
          <img
            alt={alt}
            src={address(1200)}
            srcSet={WIDTHS.map((width) => `${address(width)} ${width}w`).join(", ")}
            sizes={size === "large" ? "760px" : FIT}
            onLoad={() => setLoaded(true)}
            onError={fail}
          />
          {loaded && rectangles.length > 0 && <Marks {...{ rectangles, quote, mark }} />}
        </div>
      </div>
    </>
  );
}

interface MarksProps {
  rectangles: Rectangle[];
  quote: string | null;
  mark: RefObject<HTMLElement | null>;
}

/** One mark around all rectangles, which reads as the words do. */
function Marks({ rectangles, quote, mark }: MarksProps) {
  const [left, top] = [0, 1].map((at) => Math.min(...rectangles.map((one) => one[at] ?? 0)));
  const [right, bottom] = [2, 3].map((at) => Math.max(...rectangles.map((one) => one[at] ?? 1)));
  const around: Rectangle = [left ?? 0, top ?? 0, right ?? 1, bottom ?? 1];
  return (
    <mark ref={mark} data-quoted={quote !== null} style={placed(around, [0, 0, 1, 1])}>
      <span className="sr">{quote}</span>
      {rectangles.map((one) => (
        <i key={one.join()} style={placed(one, around)} />
      ))}
    </mark>
  );
}

/** Where a rectangle stands in another one, both in shares of the page. */
function placed([left, top, right, bottom]: Rectangle, [x, y, end, foot]: Rectangle) {
  const share = (part: number, whole: number) => `${(100 * part) / whole}%`;
  return {
    left: share(left - x, end - x),
    top: share(top - y, foot - y),
    width: share(right - left, end - x),
    height: share(bottom - top, foot - y),
  };
}
