// The life of an API key.
import { expect, test } from "vitest";
import { endOf, type Key, stateOf } from "./keys";
import { PRESETS, SCOPES } from "./scopes";

const now = new Date("2026-11-15T12:00:00Z");
const key = (fields: Partial<Key>) => stateOf({ ...fields } as Key, now);

test("a key works until it is revoked or its end has come", () => {
  expect(key({})).toBe("active");
  expect(key({ expires_at: "2026-11-15T12:00:01Z" })).toBe("active");
  expect(key({ expires_at: "2026-11-15T12:00:00Z" })).toBe("expired");
  expect(key({ replaced_by: "key_2", expires_at: "2026-11-16T12:00:00Z" })).toBe("replaced");
  expect(key({ replaced_by: "key_2", expires_at: "2026-11-14T12:00:00Z" })).toBe("expired");
  expect(key({ revoked_at: "2026-11-15T11:00:00Z", replaced_by: "key_2" })).toBe("revoked");
});

test("a lifetime is counted from now, and none means for ever", () => {
  expect(endOf("30", now)).toBe("2026-12-15T12:00:00.000Z");
  expect(endOf("", now)).toBeUndefined();
});

test("every preset is made of scopes that are explained", () => {
  for (const { scopes } of PRESETS) for (const scope of scopes) expect(SCOPES).toHaveProperty([scope]);
});
