// Somebody at work: what they click and type is counted, and how long it takes until they see what they came for.
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { leave, visit } from "./browser";
import { paste } from "./editor";
import type { Person as Account } from "./organization";

/** What a job costs. A chord such as Ctrl-K is one key. */
export interface Effort {
  clicks: number;
  keys: number;
}

export class Person {
  readonly spent: Effort = { clicks: 0, keys: 0 };
  private readonly began = performance.now();
  private saw = this.began;

  constructor(readonly page: Page) {}

  async click(target: Locator): Promise<void> {
    this.spent.clicks += 1;
    await target.click();
  }

  /** Goes to a screen by the menu. */
  async goTo(screen: string): Promise<void> {
    const menu = this.page.getByRole("navigation", { name: "Main" });
    await this.click(menu.getByRole("link", { name: new RegExp(`^${screen}`) }));
  }

  async press(...keys: string[]): Promise<void> {
    this.spent.keys += keys.length;
    for (const key of keys) await this.page.keyboard.press(key);
  }

  async type(text: string): Promise<void> {
    this.spent.keys += text.length;
    await this.page.keyboard.type(text);
  }

  /** Selects what an editor has and pastes over it, which takes two keys. */
  async replace(editor: Locator, text: string): Promise<void> {
    this.spent.keys += 2;
    await paste(editor, text);
  }

  /** The job lasts until what is seen last. */
  async sees(sign: Locator): Promise<Locator> {
    await sign.waitFor();
    this.saw = performance.now();
    return sign;
  }

  get seconds(): number {
    return (this.saw - this.began) / 1_000;
  }
}

/** Does a job from the overview on, says what it cost, and fails if that was more than it may. */
export async function doJob(
  most: Effort,
  account: Pick<Account, "session"> | undefined,
  job: (person: Person) => Promise<void>,
): Promise<void> {
  const visited = await visit("/", { session: account?.session });
  await visited.page.locator("[data-grade]").first().waitFor();
  const person = new Person(visited.page);
  await job(person);
  const { clicks, keys } = person.spent;
  const name = expect.getState().currentTestName;
  console.info(`${name}: ${clicks} clicks, ${keys} keys, ${person.seconds.toFixed(1)} s`);
  expect(clicks, "clicks").toBeLessThanOrEqual(most.clicks);
  expect(keys, "keys").toBeLessThanOrEqual(most.keys);
  await leave(visited);
}
