"""Clients' nodes, in one module for every algorithm and one for those that train on the clients' tokens."""
