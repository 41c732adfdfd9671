import { Component, type ReactNode } from "react";

interface Props {
  /** What is said in its place: "The library", "This answer". */
  name: string;
  children: ReactNode;
}

/** Keeps a fault to the part of the page that it is in: the rest goes on working. */
export class Kept extends Component<Props, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    return (
      <section className="broken" role="alert">
        <p>{this.props.name} cannot be shown: a fault of the page, not of your files.</p>
        <button type="button" className="pill" onClick={() => location.reload()}>
          Load the page again
        </button>
      </section>
    );
  }
}
