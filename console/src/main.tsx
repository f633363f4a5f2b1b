// Starts the console. Styles that Mantine adds at run time carry the nonce of the page, as its policy demands.
import { MantineProvider } from "@mantine/core";
import "./styles/first";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queries } from "./api/queries";
import { router } from "./routes";
import { theme } from "./theme";
import "./console.css";

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";
const root = document.getElementById("root");
// What keeps the page still behind a dialog adds a style of its own, and asks for the nonce under this name.
Object.assign(globalThis, { __webpack_nonce__: nonce });
if (root === null) throw new Error("index.html has no #root");

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
