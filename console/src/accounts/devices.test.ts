// What a browser is called.
import { expect, test } from "vitest";
import { deviceOf } from "./devices";

test("a browser is called by its name and its system's", () => {
  const chrome =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36";
  expect(deviceOf(chrome)).toBe("Chrome on Linux");
  expect(deviceOf(`${chrome} Edg/130.0`)).toBe("Edge on Linux");
  expect(deviceOf("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1")).toBe(
    "Safari on iOS",
  );
  expect(deviceOf("curl/8.5.0")).toBe("curl");
});

test("what is not known is shown as it is", () => {
  expect(deviceOf("my-robot/1")).toBe("my-robot/1");
  expect(deviceOf(null)).toBe("Unknown program");
});
