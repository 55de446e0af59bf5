"""What users of a secured cluster need to be allowed."""


def rights_of(group: str, topic: str) -> dict[str, set[str]]:
    """What a migration of this group needs, on the source and on the destination."""
    read = {f"GROUP DESCRIBE on {group}", f"TOPIC READ on {topic}", f"TOPIC DESCRIBE_CONFIGS on {topic}"}
    return {"source": read, "destination": (read | {f"GROUP READ on {group}"}) - {f"GROUP DESCRIBE on {group}"}}
