// Buttons come and go with answers: whoever had the focus on one that is gone is led to what took its place.
import { useLayoutEffect } from "react";
import type { Batch } from "./held";
import type { Approval } from "./waiting";

const CARD = "[data-approval]";
const REVIEW = "[data-review]";

/** For the screen that shows these requests, and the answers that can still be undone. */
export function useFocusFollows(waiting: Approval[], held: Batch[]): void {
  const before = document.activeElement;
  const dialog = before?.closest("[role=dialog]");
  const card = before?.closest(CARD);
  const index = card ? [...document.querySelectorAll(CARD)].indexOf(card) : -1;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a panel that closes leads back by itself; only requests and answers matter here.
  useLayoutEffect(() => {
    if (before === null || before.isConnected) return;
    const cards = [...document.querySelectorAll(CARD)];
    if (card && !card.isConnected) {
      // The request is gone, so its neighbor is next.
      focusFirst(cards[Math.min(index, cards.length - 1)], REVIEW);
      return;
    }
    const others = [document.querySelector("[data-beside]"), cards[0]?.parentElement];
    const place = [dialog, card, ...others].find((one) => one?.isConnected);
    focusFirst(place, "[data-undo]", REVIEW, "[tabindex='-1']");
  }, [waiting, held]);
}

/** The first request of those whose answer was undone, unless something covers it. */
export function focusRequest({ answers }: Batch): void {
  if (document.querySelector("[aria-modal=true]") !== null) return;
  focusFirst(document.querySelector(`[data-approval="${answers[0]?.approval.decision_id}"]`), REVIEW);
}

/** The first that is there in a place, or else the place, or else the screen. */
function focusFirst(place: Element | null | undefined, ...selectors: string[]): void {
  const inside = selectors.map((one) => place?.querySelector(one)).find((one) => one);
  const found = inside ?? place ?? document.getElementById("main");
  if (found instanceof HTMLElement) found.focus({ preventScroll: true });
}
