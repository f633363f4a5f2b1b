// The pages that show the pictures which tests took.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Where pictures go, which the documentation shows. */
export const PICTURES = resolve("../docs/images/console");

const HEADS: Record<string, string> = {
  "": "# The console in pictures\n\nTaken by the tests (`just e2e`) of a real server with a demo of 100,000 events. Also: every screen in\n[each of its states](states/README.md), [on a phone](phone/README.md) and [in the dark](dark/README.md).\n",
  states:
    "# Every screen in each of its states\n\nWith nothing there, on its way, when the server fails, and after too many requests.\n",
  phone: "# Every screen on a phone\n\n375 pixels wide.\n",
  dark: "# Every screen in the dark\n",
};

const isPicture = (name: string) => /\.(png|jpg)$/.test(name);

/** Writes a page in each folder of pictures. The main ones are shown, the others linked. */
export function writeGallery(): void {
  for (const [folder, head] of Object.entries(HEADS)) {
    mkdirSync(join(PICTURES, folder), { recursive: true });
    const names = readdirSync(join(PICTURES, folder)).filter(isPicture).sort();
    const lines = names.map((name) => {
      const caption = name.replace(/\.\w+$/, "").replaceAll("-", " ");
      return folder === "" ? `![${caption}](${name})\n` : `- [${caption}](${name})`;
    });
    writeFileSync(join(PICTURES, folder, "README.md"), `${head}\n${lines.join("\n")}`.trimEnd().concat("\n"));
  }
}
