// A form that shows a refusal at the fields it names, and the rest above the button.
import { Button, Group, Stack } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Trouble } from "./Answered";
import { faultsByField } from "./faults";

interface FormProps<Values extends Record<string, unknown>, Result> {
  form: UseFormReturnType<Values>;
  send: (values: Values) => Promise<Result>;
  done: (result: Result, values: Values) => void;
  /** What the button says. */
  action: string;
  /** It cannot be sent as it is, or not by who looks at it. */
  disabled?: boolean;
  /** Leaves it, where it can be left. */
  cancel?: () => void;
  isWide?: boolean;
  /** It cannot be taken back, and so is red. */
  isGrave?: boolean;
  children: ReactNode;
}

export function Form<Values extends Record<string, unknown>, Result>(props: FormProps<Values, Result>) {
  const { form, send, done, action, disabled, cancel, isWide, isGrave, children } = props;
  const goTo = (errors: Record<string, unknown>) => {
    const [first] = Object.keys(errors);
    if (first !== undefined) form.getInputNode(first)?.focus();
  };
  const sending = useMutation({
    mutationFn: send,
    onSuccess: done,
    onError: (error) => {
      const { errors } = faultsByField(error, Object.keys(form.getValues()));
      form.setErrors(errors);
      goTo(errors);
    },
  });
  const isSaid = sending.isError && faultsByField(sending.error, Object.keys(form.getValues())).isAllSaid;
  return (
    <form noValidate onSubmit={form.onSubmit((values) => sending.mutate(values), goTo)}>
      <Stack gap="sm">
        {children}
        {sending.isError && !isSaid && <Trouble error={sending.error} />}
        <Group justify={isWide ? undefined : "flex-end"} mt={4}>
          {cancel && (
            <Button variant="default" onClick={cancel}>
              Cancel
            </Button>
          )}
          <Button
            type="submit"
            color={isGrave ? "red.9" : undefined}
            loading={sending.isPending}
            disabled={disabled}
            fullWidth={isWide}
          >
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
