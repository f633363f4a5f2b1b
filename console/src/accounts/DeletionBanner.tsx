// Shows on every screen that the organization is scheduled for deletion, and lets an owner cancel.
import { Alert, Button, Group, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { answer, api } from "../api/client";
import { queries, useMe } from "../api/queries";
import { Trouble } from "../parts/Answered";
import { When } from "../parts/When";

export function DeletionBanner() {
  const { user, organisation: organization } = useMe();
  const keeping = useMutation({
    mutationFn: () => answer(api.DELETE("/v1/org/deletion")),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["me"] }),
  });
  if (!organization.deletes_at) return null;
  return (
    <Alert
      mb="md"
      maw={1600}
      mx="auto"
      role="status"
      data-deletion
      color="red"
      icon={<IconAlertTriangle />}
      title="This organization is scheduled for deletion"
    >
      <Group justify="space-between" gap="sm">
        <Text size="sm">
          Everything in {organization.name} will be deleted <When at={organization.deletes_at} /> and cannot
          be restored. {user.role !== "owner" && "An owner can cancel the deletion."}
        </Text>
        {user.role === "owner" && (
          <Button size="xs" variant="default" loading={keeping.isPending} onClick={() => keeping.mutate()}>
            Keep the organization
          </Button>
        )}
      </Group>
      {keeping.isError && <Trouble error={keeping.error} />}
    </Alert>
  );
}
