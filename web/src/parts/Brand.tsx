import { home } from "../routes";

export function Brand() {
  return (
    <a className="brand" href={home}>
      <svg width="30" height="20" viewBox="0 0 30 20" aria-hidden="true">
        <circle cx="10" cy="10" r="8" fill="none" stroke="var(--accent)" strokeWidth="2.4" />
        <circle cx="20" cy="10" r="8" fill="none" stroke="currentColor" strokeWidth="2.4" />
      </svg>
      Secondlook
    </a>
  );
}
