// Pending invitations.
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
      title="Pending invitations"
      actions={
        <ManageButton size="compact-sm" onClick={() => change({ invite: "yes" })}>
          Invite member
        </ManageButton>
      }
    >
      <Answered
        query={waiting}
        isEmpty={(page) => page.data.length === 0}
        empty={
          <Text size="sm" className="quiet" data-state="empty">
            No pending invitations. A person you invite gets a link that works for 7 days and chooses a
            password to join.
          </Text>
        }
      >
        {(page) => (
          <Stacked label="Invitations" head={["Email", "Role", "Invited", "By", "Expires", ""]}>
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
      <Table.Td data-label="Email">{email}</Table.Td>
      <Table.Td data-label="Role">
        <Mark word="info">{role}</Mark>
      </Table.Td>
      <Table.Td data-label="Invited">
        <When at={created_at} />
      </Table.Td>
      <Table.Td data-label="By">
        <Who id={invited_by} />
      </Table.Td>
      <Table.Td data-label="Expires">
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
                ? `${invitation.email} was invited.`
                : `An email with a link is on its way to ${invitation.email}.`,
            );
          }}
        />
      )}
      {invited?.link && (
        <ShownOnce
          title={`Invitation link for ${invited.email}`}
          of="link"
          secret={invited.link}
          close={() => setInvited(undefined)}
        >
          This server does not send email. Send this link to {invited.email} yourself over a private channel.
          It works once, for 7 days.
        </ShownOnce>
      )}
      {mayManage && revoking && (
        <Confirm
          title={`Revoke the invitation for ${revoking.email}?`}
          action="Revoke invitation"
          act={() => answer(api.DELETE("/v1/invitations/{id}", { params: { path: { id: revoking.id } } }))}
          done={() => renewed(`The invitation for ${revoking.email} was revoked.`)}
          close={close}
        >
          <Text size="sm">Its link stops working immediately. You can invite the address again.</Text>
        </Confirm>
      )}
    </>
  );
}
