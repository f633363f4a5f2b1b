// What a screen does with views: saves its search as one, and updates, renames or deletes the one that is open.
import { Button, Menu } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { IconBookmark, IconBookmarkPlus, IconChevronDown } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { useAddress } from "../address";
import { answer, api } from "../api/client";
import { messageOf } from "../api/problem";
import { useMayManage } from "../api/queries";
import { one } from "../search";
import { isSame, type List, renewViews, searchOf, useViews, type View } from "./views";

/** Few save one at a first look, so it comes when somebody does. */
const ViewDialogs = lazy(() => import("./ViewDialogs"));

export type Dialog = "save" | "rename" | "delete";

interface ViewActionsProps {
  list: List;
  /** What of the list's address is kept beside the time. The server knows the same names. */
  parameters: readonly string[];
}

export function ViewActions({ list, parameters }: ViewActionsProps) {
  const [address, change] = useAddress();
  const [dialog, setDialog] = useState<Dialog>();
  const open = useViews().find((view) => view.list === list && view.id === one(address.view));
  const search = searchOf(parameters, address);
  return (
    <>
      <Button
        size="xs"
        variant="default"
        leftSection={<IconBookmarkPlus size={14} />}
        onClick={() => setDialog("save")}
      >
        Save view
      </Button>
      {open && <OpenView view={open} search={search} onAsk={setDialog} />}
      <Suspense>
        {dialog && (
          <ViewDialogs
            dialog={dialog}
            list={list}
            search={search}
            open={open}
            close={() => setDialog(undefined)}
            onOpen={(view) => change({ view }, { replace: true })}
          />
        )}
      </Suspense>
    </>
  );
}

interface OpenViewProps {
  view: View;
  /** What the screen searches for by now. */
  search: View["search"];
  onAsk: (dialog: Dialog) => void;
}

function OpenView({ view, search, onAsk }: OpenViewProps) {
  const mayManage = useMayManage();
  const updating = useMutation({
    mutationFn: () =>
      answer(api.PATCH("/v1/views/{id}", { params: { path: { id: view.id } }, body: { search } })),
    onSuccess: () => {
      notifications.show({ color: "teal", message: `Updated “${view.name}”.` });
      return renewViews();
    },
    onError: (error) =>
      notifications.show({ title: "Not updated", message: messageOf(error), color: "red", autoClose: false }),
  });
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          size="xs"
          variant="light"
          maw={240}
          loading={updating.isPending}
          leftSection={<IconBookmark size={14} />}
          rightSection={<IconChevronDown size={14} />}
          aria-label={`View “${view.name}”`}
        >
          {view.name}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{view.shared ? "Shared with the organization" : "Only you see this view"}</Menu.Label>
        {mayManage || !view.shared ? (
          <>
            <Menu.Item disabled={isSame(view.search, search)} onClick={() => updating.mutate()}>
              Update to this search
            </Menu.Item>
            <Menu.Item onClick={() => onAsk("rename")}>Rename…</Menu.Item>
            <Menu.Item onClick={() => onAsk("delete")}>Delete…</Menu.Item>
          </>
        ) : (
          <Menu.Label>Only admins and owners can change it.</Menu.Label>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
