// Form fields of the signed-out pages, with hints for browsers and password managers.
import { PasswordInput, type PasswordInputProps, TextInput, type TextInputProps } from "@mantine/core";

/** As the server has it: `crates/domain/src/account/password.rs`. */
const CHARS_MIN = 12;
const CHARS_MAX = 128;

export function EmailField(props: TextInputProps) {
  return <TextInput type="email" label="Email address" autoComplete="username" required {...props} />;
}

/** The password that somebody has. */
export function PasswordField(props: PasswordInputProps) {
  return (
    <PasswordInput
      label="Password"
      autoComplete="current-password"
      required
      visibilityToggleFocusable
      visibilityToggleButtonProps={{ "aria-label": "Show or hide password" }}
      {...props}
    />
  );
}

/** A password that somebody chooses: the rules are said before, not after. */
export function NewPasswordField(props: PasswordInputProps) {
  return (
    <PasswordField
      autoComplete="new-password"
      description={`${CHARS_MIN} to ${CHARS_MAX} characters of any kind, but not your address or a common password. Pasting is fine.`}
      {...props}
    />
  );
}

export function emailFault(email: string): string | null {
  return /^\S+@\S+$/.test(email.trim()) ? null : "Enter an email address such as ann@example.com.";
}

export function passwordFault(password: string): string | null {
  return password === "" ? "Enter your password." : null;
}

export function newPasswordFault(password: string): string | null {
  const chars = [...password].length;
  if (chars < CHARS_MIN) return `Use at least ${CHARS_MIN} characters; this has ${chars}.`;
  return chars > CHARS_MAX ? `Use at most ${CHARS_MAX} characters; this has ${chars}.` : null;
}
