"""Annotations of images or recordings in files next to them: tables, COCO, YOLO, Pascal VOC, lists of splits."""
