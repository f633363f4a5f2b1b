// A button that only admins and owners can press; others see why.
import { Button, type ButtonProps, Tooltip } from "@mantine/core";
import type { ComponentProps } from "react";
import { useMayManage } from "../api/queries";

interface ManageButtonProps extends ButtonProps {
  onClick: ComponentProps<"button">["onClick"];
  /** Why it cannot be pressed by who could otherwise. */
  because?: string;
  /** It is about oneself, which everybody may. */
  isOwn?: boolean;
}

export function ManageButton({ because, isOwn, ...props }: ManageButtonProps) {
  const reason = useMayManage() || isOwn ? because : "Only admins and owners can do this.";
  return (
    <Tooltip label={reason} disabled={reason === undefined}>
      {/* A disabled button takes no focus, and so could not say why. */}
      <Button
        {...props}
        data-disabled={reason !== undefined || undefined}
        aria-disabled={reason !== undefined}
        onClick={(event) => (reason === undefined ? props.onClick?.(event) : event.preventDefault())}
      />
    </Tooltip>
  );
}
