// The code editor as somebody uses it: what is there is selected, and another text pasted over it.
import type { Locator } from "playwright-core";

/** `fill` would write as an input method does, for which browsers add styles that the page's policy refuses. */
export async function paste(editor: Locator, text: string): Promise<void> {
  await editor.press("Control+a");
  await editor.evaluate((field, pasted) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", pasted);
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, text);
}
