// Dialogs to change a member's role and to remove a member.
import { Checkbox, Modal, Text } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useAddress } from "../address";
import { answer, api, type Body } from "../api/client";
import { queries, useMayManage, useMe } from "../api/queries";
import { Confirm } from "../parts/Confirm";
import { Form } from "../parts/Form";
import { one } from "../search";
import { leave } from "./login";
import { RoleField } from "./roles";

type Member = Body<"MemberBody">;

export function MemberDialogs({ members }: { members: Member[] }) {
  const [address, change] = useAddress();
  const close = () => change({ role: undefined, remove: undefined });
  const mayManage = useMayManage();
  const me = useMe().user.id;
  const changing = members.find(({ id }) => mayManage && id === one(address.role));
  // Everybody may leave.
  const removing = members.find(({ id }) => (mayManage || id === me) && id === one(address.remove));
  const renewed = (message: string) => {
    notifications.show({ color: "teal", message });
    for (const of of [["members"], ["names"], ["me"]]) queries.invalidateQueries({ queryKey: of });
    close();
  };
  return (
    <>
      {changing && <ChangeRole member={changing} close={close} done={renewed} />}
      {removing && <Remove member={removing} close={close} done={renewed} />}
    </>
  );
}

interface DialogProps {
  member: Member;
  close: () => void;
  done: (message: string) => void;
}

function ChangeRole({ member, close, done }: DialogProps) {
  const form = useForm({ initialValues: { role: member.role } });
  return (
    <Modal opened onClose={close} title={`Change the role of ${member.email}`}>
      <Form
        form={form}
        send={(body) => answer(api.PATCH("/v1/members/{id}", { params: { path: { id: member.id } }, body }))}
        done={({ email, role }) => done(`${email} is now ${role}.`)}
        action="Change role"
        disabled={form.values.role === member.role}
        cancel={close}
      >
        <RoleField {...form.getInputProps("role")} />
      </Form>
    </Modal>
  );
}

function Remove({ member, close, done }: DialogProps) {
  const me = useMe().user;
  const navigate = useNavigate();
  const isMyself = member.id === me.id;
  const [keepsKeys, setKeepsKeys] = useState(false);
  const params = { path: { id: member.id }, query: { keep_keys: keepsKeys } };
  return (
    <Confirm
      title={isMyself ? "Leave the organization?" : `Remove ${member.email}?`}
      action={isMyself ? "Leave" : "Remove"}
      act={() => answer(api.DELETE("/v1/members/{id}", { params }))}
      done={() => {
        if (!isMyself) return done(`${member.email} was removed.`);
        leave(navigate);
      }}
      close={close}
    >
      <Text size="sm">
        {isMyself
          ? "Your account and your sessions end"
          : `The account and all sessions of ${member.email} end`}{" "}
        immediately, along with any invitations from this account. {keysOf(member, keepsKeys)}
      </Text>
      {member.api_keys > 0 && !isMyself && (
        <Checkbox
          mt="sm"
          label="Keep these keys"
          description="For agents that need them. The person who created a key may still know it, so rotate it soon."
          checked={keepsKeys}
          onChange={(event) => setKeepsKeys(event.currentTarget.checked)}
        />
      )}
    </Confirm>
  );
}

function keysOf({ api_keys }: Member, areKept: boolean): string {
  if (api_keys === 0) return "This account has no active API keys.";
  if (areKept) return "API keys created by this account keep working.";
  return api_keys === 1
    ? "The API key created by this account is revoked, and requests with it are rejected."
    : `The ${api_keys} API keys created by this account are revoked, and requests with them are rejected.`;
}
