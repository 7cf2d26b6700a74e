import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { takeToken } from "./api/session";
import { App } from "./app";
import "./layout.css";
import "./base/composing";

takeToken();

const root = document.getElementById("root");
if (root) createRoot(root).render(<StrictMode><App /></StrictMode>);
