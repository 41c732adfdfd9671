/** Called before an entry of a list goes: the focus must not fall back to the top of the page. */
export function focusNeighbour(item: HTMLElement | null, part: string): void {
  const next = item?.nextElementSibling ?? item?.previousElementSibling;
  const place = next?.querySelector(part) ?? item?.closest(".library")?.querySelector(".drop");
  if (place instanceof HTMLElement) place.focus();
}
