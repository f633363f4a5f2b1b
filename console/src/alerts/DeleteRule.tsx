// Asks before a rule is deleted, and says what will happen.
import { Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useNavigate } from "@tanstack/react-router";
import { answer, api, type Body } from "../api/client";
import { queries } from "../api/queries";
import { Confirm } from "../parts/Confirm";

interface DeleteRuleProps {
  rule: Body<"Rule">;
  isOpen: boolean;
  onClose: () => void;
}

export function DeleteRule({ rule, isOpen, onClose }: DeleteRuleProps) {
  const navigate = useNavigate();
  if (!isOpen) return null;
  return (
    <Confirm
      title={`Delete “${rule.name}”?`}
      action="Delete rule"
      act={() => answer(api.DELETE("/v1/alert-rules/{id}", { params: { path: { id: rule.id } } }))}
      done={() => {
        queries.invalidateQueries({ queryKey: ["rules"] });
        notifications.show({ title: "Deleted", message: `Rule ${rule.name} was deleted.`, color: "teal" });
        navigate({ to: "/rules" });
      }}
      close={onClose}
    >
      <Text size="sm">
        The rule stops immediately, and its pending deliveries are canceled. Its history and delivery records
        are kept. To keep the rule for later, disable it instead.
      </Text>
    </Confirm>
  );
}
