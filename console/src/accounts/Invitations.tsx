// Who was invited and has not come yet.
import { Table, Text } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAddress } from "../address";
import { answer, api, type Body } from "../api/client";
import { queries, useMayManage } from "../api/queries";
import { Answered } from "../parts/Answered";
import { Confirm } from "../parts/Confirm";
import { ManageButton } from "../parts/ManageButton";
import { Mark } from "../parts/Mark";
import { Panel } from "../parts/Page";
import { ShownOnce } from "../parts/ShownOnce";
import { Stacked } from "../parts/Stacked";
import { When } from "../parts/When";
import { Who } from "../parts/Who";
import { one } from "../search";
import { Invite } from "./Invite";

type Invitation = Body<"InvitationBody">;

export function Invitations() {
  const [, change] = useAddress();
  const waiting = useQuery({
    queryKey: ["invitations"],
    queryFn: () => answer(api.GET("/v1/invitations", { params: { query: { limit: 1000 } } })),
  });
  return (
    <Panel
      title="Invitations that wait"
      actions={
        <ManageButton size="compact-sm" onClick={() => change({ invite: "yes" })}>
          Invite somebody
        </ManageButton>
      }
    >
      <Answered
        query={waiting}
        isEmpty={(page) => page.data.length === 0}
        empty={
          <Text size="sm" className="quiet" data-state="empty">
            Nobody is waiting. A person you invite gets a link that works for 7 days, chooses a password and
            is in.
          </Text>
        }
      >
        {(page) => (
          <Stacked label="Invitations" head={["Address", "Role", "Invited", "By", "Ends", ""]}>
            {page.data.map((invitation) => (
              <InvitationRow key={invitation.id} {...invitation} />
            ))}
          </Stacked>
        )}
      </Answered>
      <Dialogs invitations={waiting.data?.data ?? []} />
    </Panel>
  );
}

function InvitationRow({ id, email, role, created_at, invited_by, expires_at }: Invitation) {
  const [, change] = useAddress();
  return (
    <Table.Tr>
      <Table.Td data-label="Address">{email}</Table.Td>
      <Table.Td data-label="Role">
        <Mark word="info">{role}</Mark>
      </Table.Td>
      <Table.Td data-label="Invited">
        <When at={created_at} />
      </Table.Td>
      <Table.Td data-label="By">
        <Who id={invited_by} />
      </Table.Td>
      <Table.Td data-label="Ends">
        <When at={expires_at} />
      </Table.Td>
      <Table.Td data-label="" ta="right">
        <ManageButton size="compact-sm" variant="default" onClick={() => change({ uninvite: id })}>
          Revoke
        </ManageButton>
      </Table.Td>
    </Table.Tr>
  );
}

function Dialogs({ invitations }: { invitations: Invitation[] }) {
  const [address, change] = useAddress();
  const [invited, setInvited] = useState<Invitation>();
  const close = () => change({ invite: undefined, uninvite: undefined });
  const renewed = (message: string) => {
    notifications.show({ color: "teal", message });
    queries.invalidateQueries({ queryKey: ["invitations"] });
    close();
  };
  const mayManage = useMayManage();
  const revoking = invitations.find(({ id }) => id === one(address.uninvite));
  return (
    <>
      {mayManage && address.invite && (
        <Invite
          close={close}
          onInvited={(invitation) => {
            setInvited(invitation);
            renewed(
              invitation.link
                ? `${invitation.email} is invited.`
                : `A mail with a link is on its way to ${invitation.email}.`,
            );
          }}
        />
      )}
      {invited?.link && (
        <ShownOnce
          title={`The link for ${invited.email}`}
          of="link"
          secret={invited.link}
          close={() => setInvited(undefined)}
        >
          This server sends no mail, so hand the link over yourself, on a way that only {invited.email} can
          read. It works once, for 7 days.
        </ShownOnce>
      )}
      {mayManage && revoking && (
        <Confirm
          title={`Revoke the invitation of ${revoking.email}?`}
          action="Revoke the invitation"
          act={() => answer(api.DELETE("/v1/invitations/{id}", { params: { path: { id: revoking.id } } }))}
          done={() => renewed(`The invitation of ${revoking.email} is revoked.`)}
          close={close}
        >
          <Text size="sm">Its link stops working at once. You can invite the address again.</Text>
        </Confirm>
      )}
    </>
  );
}
