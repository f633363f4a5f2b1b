// The token in an emailed link: read once, then removed from the address bar and the history.
import { Alert, Text } from "@mantine/core";
import { useLocation, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { Card } from "../shell/Outside";
import { tokenIn } from "./address";

function useToken(): string | undefined {
  const { hash } = useLocation();
  const navigate = useNavigate();
  const [token, setToken] = useState(() => tokenIn(hash));
  useEffect(() => {
    const found = tokenIn(hash);
    if (found === undefined) return;
    setToken(found);
    navigate({ to: ".", hash: "", replace: true });
  }, [hash, navigate]);
  return token;
}

interface ByLinkProps {
  title: string;
  links: Record<string, string>;
  children: (token: string) => ReactNode;
}

/** A page that only a link opens. */
export function ByLink({ title, links, children }: ByLinkProps) {
  const token = useToken();
  return (
    <Card title={title} links={links}>
      {token === undefined ? (
        <Alert color="yellow" title="Part of the link is missing" data-state="error">
          <Text size="sm">
            Open the complete link again, up to its last character. For security, this page forgets the link
            when you reload it.
          </Text>
        </Alert>
      ) : (
        children(token)
      )}
    </Card>
  );
}
